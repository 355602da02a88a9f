#!/bin/sh
echo waiting
