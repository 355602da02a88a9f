#!/bin/bash
if [ "$(/app/start)" = ready ] && [ -d /app/empty ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
