#!/bin/bash
echo "$COLOUR" > colour.txt; echo "$NOTE" > note.txt
