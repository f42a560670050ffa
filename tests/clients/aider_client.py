"""aider, which sends bodies without a content type and asks for more context than it was given.

    python aider_client.py URL
"""

import os
import subprocess
import sys
import tempfile

URL = sys.argv[1]
QUIET = (
    "--no-git --yes-always --analytics-disable --no-check-update --no-show-model-warnings "
    "--no-show-release-notes --no-pretty --no-browser"
)

with tempfile.TemporaryDirectory() as home:
    for model in ("ollama_chat/script", "openai/script"):
        said = subprocess.run(
            [
                *(sys.executable, "-m", "aider", "--model", model, *QUIET.split()),
                *("--message", "How is the weather?"),
            ],
            cwd=home,
            env={
                **os.environ,
                "HOME": home,
                "OLLAMA_API_BASE": URL,
                "OPENAI_API_BASE": f"{URL}/v1",
                "OPENAI_API_KEY": "none",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert said.returncode == 0 and "It is sunny." in said.stdout, said.stdout + said.stderr
