#!/bin/bash
sed -i 's/waiting/ready/' run.sh
