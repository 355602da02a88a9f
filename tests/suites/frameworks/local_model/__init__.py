"""A small language model on this machine, served by llama.cpp: a real model, once, where no provider answers."""
