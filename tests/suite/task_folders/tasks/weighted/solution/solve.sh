#!/bin/bash
echo yes > a.txt
echo yes > b.txt
