#!/bin/bash
if [ "$(cat /opt/service/state)" = on ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
