#!/bin/bash
echo on > /opt/service/state
