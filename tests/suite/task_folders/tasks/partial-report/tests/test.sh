#!/bin/bash
python3 /tests/scoring.py > /logs/verifier/reward.json
