#!/bin/bash
if [ ! -e /app/old.txt ] && [ "$(cat /app/new.txt)" = new ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
