exec python3 - "$@" <<'P'
import subprocess,json,sys
b=sys.argv[1]
p=subprocess.Popen(["perf","record","-e","page-faults","-c","1","-d","-o","/tmp/bm/pf.data",b,"mcp","--desktop","--browser","--shell"],stdin=subprocess.PIPE,stdout=subprocess.PIPE)
m={"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}
p.stdin.write((json.dumps({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":m}})+"\n").encode());p.stdin.flush()
p.stdout.readline();p.stdin.close();p.wait()
P
