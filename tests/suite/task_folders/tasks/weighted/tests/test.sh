#!/bin/bash
n=$(cat /app/a.txt /app/b.txt 2>/dev/null | grep -c yes)
python3 -c "import json,sys; n=int(sys.argv[1]); print(json.dumps({'reward': n / 2, 'files': n}))" "$n" > /logs/verifier/reward.json
