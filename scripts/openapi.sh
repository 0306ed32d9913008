#!/usr/bin/env bash
# Checks the OpenAPI document with two validators, and compiles Python and TypeScript types that
# generators make of it. Installs what it needs, pinned, in target/openapi.
set -euo pipefail
cd "$(dirname "$0")/.."
document=schemas/openapi.json
folder=target/openapi
[ -e "$folder/complete" ] || {
  rm -rf "$folder"
  scripts/venv.sh "$folder"
  scripts/retry.sh "$folder/bin/pip" install --quiet --disable-pip-version-check \
    openapi-spec-validator==0.7.2 datamodel-code-generator==0.35.0 mypy==1.18.2
  scripts/mcp-clients.sh
  PATH=$(realpath -s target/mcp-clients/python/bin):$PATH scripts/retry.sh npm install --no-audit --no-fund \
    --loglevel=error --ignore-scripts --prefix "$folder" openapi-typescript@7.9.1 typescript@5.9.3 @redocly/cli@2.1.0
  touch "$folder/complete"
}
export PATH=$(realpath -s target/mcp-clients/python/bin):$PATH
"$folder/bin/openapi-spec-validator" "$document"
echo "extends: [spec]" >"$folder/redocly.yaml"
"$folder/node_modules/.bin/redocly" lint --config "$folder/redocly.yaml" "$document"
"$folder/bin/datamodel-codegen" --input "$document" --input-file-type openapi --disable-warnings --use-annotated \
  --output-model-type pydantic_v2.BaseModel --target-python-version 3.11 --output "$folder/http_types.py"
"$folder/bin/mypy" --no-error-summary "$folder/http_types.py"
"$folder/node_modules/.bin/openapi-typescript" "$document" --output "$folder/http_types.ts"
"$folder/node_modules/.bin/tsc" --noEmit --strict "$folder/http_types.ts"
echo "the document is valid, and its Python and TypeScript types compile"
