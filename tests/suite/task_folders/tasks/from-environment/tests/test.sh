#!/bin/bash
if [ "$(cat /app/colour.txt)" = "$EXPECTED" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
