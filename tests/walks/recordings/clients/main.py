"""Asks one host by every client, each as its users write it, and tells what they got."""

import asyncio
import json
import os
import subprocess
import sys
import urllib.request

import aiohttp
import httpx
import requests

URL = "https://api.example.com/hello"


async def by_aiohttp() -> object:
    async with aiohttp.ClientSession() as session, session.get(URL) as answer:
        return await answer.json()


async def by_httpx_async() -> object:
    async with httpx.AsyncClient() as client:
        return (await client.get(URL)).json()


def printed(*command: str) -> object:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return done.stdout + done.stderr


def by_git() -> object:
    done = subprocess.run(
        ["git", "ls-remote", "https://api.example.com/repo.git"], capture_output=True, text=True, check=False
    )
    return (done.stdout or done.stderr).split()


NODE = (
    f"fetch('{URL}').then(a => a.text()).then(t => console.log(t), e => console.log(JSON.stringify(String(e.cause))))"
)
NODE_HTTPS = (
    f"require('https').get('{URL}', a => a.setEncoding('utf8').on('data', d => process.stdout.write(d)))"
    ".on('error', e => console.log(JSON.stringify(String(e))))"
)
without_proxy = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}

told = {
    "urllib": json.load(urllib.request.urlopen(URL)),
    "requests": requests.get(URL).json(),
    "httpx": httpx.get(URL).json(),
    "httpx async": asyncio.run(by_httpx_async()),
    "aiohttp": asyncio.run(by_aiohttp()),
    "curl": printed("curl", "-sS", URL),
    "curl without proxy": printed("env", "-u", "HTTPS_PROXY", "-u", "https_proxy", "curl", "-sS", URL),
    "node fetch": printed("node", "-e", NODE),
    "node https": printed("node", "-e", NODE_HTTPS),
    "git": by_git(),
}
json.dump(told, sys.stdout, sort_keys=True)
