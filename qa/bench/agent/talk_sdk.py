"""The conversation of `talk` by a program that imports an SDK first, as agents do."""

import runpy
from pathlib import Path

import openai

assert openai.OpenAI
runpy.run_path(str(Path(__file__).with_name("talk.py")))
