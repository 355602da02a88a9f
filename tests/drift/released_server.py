"""An MCP server without any SDK whose tools and answers are those of a release file, read anew at each request."""

import json
import sys
from pathlib import Path
from typing import Any


def result_of(release: Path, method: str, params: dict[str, Any]) -> dict[str, Any]:
    told = json.loads(release.read_text(encoding="utf-8"))
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {}}
    if method == "tools/list":
        return {"tools": told["tools"]}
    answer: dict[str, Any] = told["answers"][params["name"]]
    return answer


def reply_to(release: Path, message: dict[str, Any]) -> dict[str, Any] | None:
    if "id" not in message:
        return None
    result = result_of(release, message["method"], message.get("params", {}))
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def main() -> None:
    release = Path(sys.argv[1])
    for line in sys.stdin:
        reply = reply_to(release, json.loads(line))
        if reply is not None:
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
