#!/bin/bash
if [ "$(cat /app/answer.txt)" = plum ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
