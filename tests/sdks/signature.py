"""botocore's own signature of a request that was received: reads JSON from stdin, prints the signature."""

import json
import sys

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

seen = json.load(sys.stdin)
names = seen["signed"].split(";")
headers = {name: seen["headers"][name] for name in names if name != "host"}
auth = SigV4Auth(Credentials(seen["access_key"], seen["secret_key"], seen["token"]), "bedrock", seen["region"])
request = AWSRequest("POST", seen["url"], data=seen["body"].encode(), headers=headers)
request.context["timestamp"] = seen["headers"]["x-amz-date"]
print(auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request))
