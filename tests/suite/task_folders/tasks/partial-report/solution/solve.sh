#!/bin/bash
wc -l < log.txt > lines.txt
grep -c ERROR log.txt > errors.txt
