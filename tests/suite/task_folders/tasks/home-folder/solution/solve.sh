#!/bin/bash
echo "theme = dark" >> ~/.settings
