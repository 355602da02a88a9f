#!/bin/bash
if [ "$(cd /app && python3 sum.py)" = 60 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
