#!/bin/bash
if grep -qx "theme = dark" ~root/.settings && grep -qx "size = 12" ~root/.settings; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
