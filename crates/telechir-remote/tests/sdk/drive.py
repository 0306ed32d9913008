"""Rents and releases a session at a double with the service's own SDK, by one plan."""

import json
import sys

SIZE = {"width": 1280, "height": 800}


def browserbase(base, key, mark):
    from browserbase import Browserbase

    sessions = Browserbase(api_key=key, base_url=base).sessions
    made = sessions.create(
        browser_settings={
            "viewport": SIZE,
            "context": {"id": "ctx", "persist": True},
            "solve_captchas": False,
            "allowed_domains": ["example.com", "shop.test"],
        },
        keep_alive=True,
        proxies=[{"type": "browserbase", "geolocation": {"country": "DE"}}],
        region="us-west-2",
        api_timeout=900,
        user_metadata={"telechir": mark, "run": "r1"},
    )
    assert made.connect_url.startswith("ws"), made
    assert sessions.retrieve(made.id).status == "RUNNING"
    listed = sessions.list(status="RUNNING", q=f"user_metadata['telechir']:'{mark}'")
    assert [session.id for session in listed] == [made.id]
    sessions.update(made.id, status="REQUEST_RELEASE")


def steel(base, key, mark):
    from steel import Steel

    sessions = Steel(steel_api_key=key, base_url=base).sessions
    made = sessions.create(
        session_id=mark,
        dimensions=SIZE,
        api_timeout=900_000,
        region="us-west-2",
        use_proxy={"geolocation": {"country": "DE"}},
        profile_id="ctx",
        persist_profile=True,
    )
    assert made.id == mark and made.websocket_url.startswith("ws"), made
    assert sessions.retrieve(made.id).status == "live"
    assert sessions.release(made.id).success


def kernel(base, key, mark):
    from kernel import Kernel

    browsers = Kernel(api_key=key, base_url=base).browsers
    made = browsers.create(
        name=mark,
        viewport=SIZE,
        timeout_seconds=900,
        region="us-west-2",
        tags={"run": "r1"},
        profile={"id": "ctx", "save_changes": True},
        network={"allowed_hosts": ["*.example.com", "shop.test"]},
    )
    assert made.cdp_ws_url.startswith("ws"), made
    assert browsers.retrieve(mark).session_id == made.session_id
    browsers.delete_by_id(made.session_id)


def hyperbrowser(base, key, mark):
    from hyperbrowser import Hyperbrowser

    sessions = Hyperbrowser(api_key=key, base_url=base).sessions
    made = sessions.create(
        {
            "screen": SIZE,
            "timeout_minutes": 15,
            "region": "us-west",
            "use_proxy": True,
            "proxy_country": "DE",
            "profile": {"id": "ctx", "persist_changes": True},
            "allow_internet_access": False,
            "allow_out": ["*.example.com", "shop.test"],
        }
    )
    assert made.ws_endpoint.startswith("ws"), made
    assert sessions.get(made.id).status == "active"
    assert sessions.extend_session(made.id, 15).success
    assert sessions.stop(made.id).success


def agentcore(base, key, mark):
    import botocore.session

    client = botocore.session.Session().create_client(
        "bedrock-agentcore",
        region_name="us-west-2",
        endpoint_url=base,
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key=key,
    )
    browser = {"browserIdentifier": "aws.browser.v1"}
    made = client.start_browser_session(
        **browser,
        name="telechir",
        sessionTimeoutSeconds=900,
        viewPort=SIZE,
        profileConfiguration={"profileIdentifier": "profile-abcdefghij"},
        clientToken=mark,
    )
    session = {"sessionId": made["sessionId"]}
    assert made["streams"]["automationStream"]["streamEndpoint"].startswith("ws"), made
    assert client.get_browser_session(**browser, **session)["status"] == "READY"
    client.save_browser_session_profile(
        profileIdentifier="profile-abcdefghij", **browser, **session, clientToken=f"save-{mark}"
    )
    client.stop_browser_session(**browser, **session, clientToken=f"stop-{mark}")
    code_interpreter(client, mark)


def code_interpreter(client, mark):
    interpreter = {"codeInterpreterIdentifier": "aws.codeinterpreter.v1"}
    made = client.start_code_interpreter_session(
        **interpreter, name="telechir", sessionTimeoutSeconds=900, clientToken=f"shell-{mark}"
    )
    session = {"sessionId": made["sessionId"]}
    assert client.get_code_interpreter_session(**interpreter, **session)["status"] == "READY"

    def invoke(name, **arguments):
        answer = client.invoke_code_interpreter(
            **interpreter, **session, name=name, arguments=arguments
        )
        (event,) = list(answer["stream"])
        return event["result"]["structuredContent"]

    output = invoke("executeCommand", command="echo out; echo err >&2; exit 3")
    assert (output["stdout"], output["stderr"], output["exitCode"]) == ("out\n", "err\n", 3), output
    task = invoke("startCommandExecution", command="sleep 1000")["taskId"]
    assert invoke("getTask", taskId=task)["taskStatus"] == "working"
    assert invoke("stopTask", taskId=task)["taskStatus"] == "canceled"
    try:
        invoke("getTask", taskId="none")
        raise AssertionError("an unknown task has no error")
    except botocore_exceptions().EventStreamError as error:
        assert "no such task" in str(error), error
    client.stop_code_interpreter_session(**interpreter, **session, clientToken=f"stop-{mark}-shell")


def botocore_exceptions():
    import botocore.exceptions

    return botocore.exceptions


def sign():
    """Prints botocore's signature of each request on standard input."""
    import datetime

    import botocore.auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    signatures = []
    for case in json.load(sys.stdin):
        at = datetime.datetime.fromtimestamp(case["at"], datetime.timezone.utc)
        botocore.auth.get_current_datetime = lambda at=at, **_: at
        request = AWSRequest(case["method"], case["url"], data=case["body"].encode())
        keys = Credentials(case["id"], case["secret"], case["token"])
        botocore.auth.SigV4Auth(keys, case["service"], case["region"]).add_auth(request)
        signatures.append(request.headers["Authorization"])
    print(json.dumps(signatures))


if __name__ == "__main__":
    if sys.argv[1] == "sign":
        sign()
    else:
        service, base, key, mark = sys.argv[1:]
        globals()[service.replace("-", "_")](base, key, mark)
