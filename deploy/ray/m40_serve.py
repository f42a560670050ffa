"""Ray Serve in front of m40: a replica on each GPU that Ray has, between a least and a most.

    pip install "ray[serve]" httpx
    serve run --working-dir . m40_serve:app model=mistral max_replicas=4

Each replica starts the executable, passes requests on to it as they are, has it checked and drained, and
counts what is under way there: by that Ray Serve adds and takes away replicas.
"""

import asyncio
import shlex
import signal
import socket
import subprocess

import httpx
from ray import serve
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

# What concerns one connection, and is not passed on (RFC 9110, 7.6.1).
HOP = {"connection", "content-length", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}


@serve.deployment
class M40:
    def __init__(self, command: str, arguments: list[str], drain_seconds: float, health_seconds: float):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.drain_seconds = drain_seconds
        self.health_seconds = health_seconds
        self.command = [*shlex.split(command), "serve", "--port", str(port), "--drain", str(drain_seconds), *arguments]
        self.client = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", timeout=httpx.Timeout(None, connect=5), limits=httpx.Limits()
        )
        self.starting = asyncio.Lock()
        self.process = None
        self.ready = False
        self.silent = 0

    async def start(self):
        """Has the process run and the model in memory. One that has ended is begun anew."""
        async with self.starting:
            if self.process is None or self.process.poll() is not None:
                # Ray has set CUDA_VISIBLE_DEVICES to this replica's GPU, and the process inherits it.
                self.process = subprocess.Popen(self.command)
                self.ready = False
            # Whoever began it may have been cancelled before it was ready.
            while not self.ready:
                if self.process.poll() is not None:
                    raise RuntimeError(f"m40 has ended with exit code {self.process.returncode}; the log says why")
                try:
                    self.ready = (await self.client.get("/ready", timeout=10)).status_code == 200
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.2)

    async def check_health(self):
        """Fails where the process cannot be begun or its device is lost: Ray begins another replica."""
        await self.start()
        try:
            answer = await self.client.get("/health", timeout=self.health_seconds)
        except httpx.TransportError:
            self.silent += 1
            if self.silent == 3:
                # It hangs. Begun anew, it is sent again what waits there; Ray would end this replica and lose that.
                self.process.kill()
                self.silent = 0
            return
        self.silent = 0
        if answer.status_code != 200:
            raise RuntimeError(f"m40 is not well: {answer.text}")

    async def __call__(self, request: Request) -> Response:
        headers = [(name, value) for name, value in request.headers.items() if name not in HOP]
        body = await request.body()
        answer = await self.send(request, headers, body)
        kept = {name: value for name, value in answer.headers.items() if name not in HOP}
        if answer.is_stream_consumed:
            kept.pop("content-encoding", None)
            return Response(answer.content, status_code=answer.status_code, headers=kept)

        async def pieces():
            # Where the client leaves, the connection is closed, which ends the generation.
            try:
                async for piece in answer.aiter_raw():
                    yield piece
            finally:
                await answer.aclose()

        return StreamingResponse(pieces(), status_code=answer.status_code, headers=kept)

    async def send(self, request: Request, headers: list[tuple[str, str]], body: bytes) -> httpx.Response:
        """Sends a request; again where the process is lost, or ends, before the answer has begun."""
        for last in (False, False, False, False, True):
            await self.start()
            sent = self.client.build_request(
                request.method, request.url.path, params=request.query_params, headers=headers, content=body
            )
            try:
                answer = await self.client.send(sent, stream=True)
            except httpx.TransportError:
                if last:
                    raise
                await asyncio.sleep(0.2)
                continue
            if last or answer.status_code != 503 or b'"draining"' not in await answer.aread():
                return answer
            # This process is draining. When it has ended, another is started.
            process = self.process
            while process.poll() is None:
                await asyncio.sleep(0.2)

    def __del__(self):
        """Ray calls it when nothing is under way any more, or its patience is over."""
        process = self.process
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(self.drain_seconds + 10)
        except subprocess.TimeoutExpired:
            process.kill()


def app(args: dict[str, str]) -> serve.Application:
    """The application. `args`, all of them optional, are those of `serve run m40_serve:app NAME=VALUE`.

    model: what is served; command: how m40 is called; arguments: more options of `m40 serve`, in one text;
    gpus: of each replica, 0 for the CPU; parallel: what a replica does at once; max_queue: what may wait there;
    min_replicas, max_replicas; drain_seconds: what running answers may take when a replica ends;
    health_seconds: how often a process is asked whether it is well, and how long it may take to say so, three times;
    upscale_delay_s, downscale_delay_s: how long there is too much or too little to do before replicas come or go.
    """
    parallel = int(args.get("parallel", "32"))
    max_queue = int(args.get("max_queue", "64"))
    drain_seconds = float(args.get("drain_seconds", "120"))
    health_seconds = float(args.get("health_seconds", "10"))
    arguments = ["--model", args.get("model", "demo"), "--parallel", str(parallel), "--max-queue", str(max_queue)]
    # What has not begun can be begun anew.
    arguments += ["--hold-streams", "60"]
    # A replica whose GPU cannot be used is to fail, and not to compute on the CPU.
    named = any(one.split("=")[0] == "--device" for one in shlex.split(args.get("arguments", "")))
    if float(args.get("gpus", "1")) > 0 and not named:
        arguments += ["--device", "cuda"]
    deployment = M40.options(
        ray_actor_options={"num_gpus": float(args.get("gpus", "1")), "num_cpus": 1},
        max_ongoing_requests=parallel + max_queue,
        # A replica more as soon as requests wait for their turn at those that there are.
        autoscaling_config={
            "min_replicas": int(args.get("min_replicas", "1")),
            "max_replicas": int(args.get("max_replicas", "8")),
            "target_ongoing_requests": parallel,
            "upscale_delay_s": float(args.get("upscale_delay_s", "10")),
            "downscale_delay_s": float(args.get("downscale_delay_s", "600")),
        },
        health_check_period_s=health_seconds,
        # The first one waits for the model.
        health_check_timeout_s=1200,
        graceful_shutdown_timeout_s=drain_seconds,
    )
    return deployment.bind(
        args.get("command", "m40"),
        arguments + shlex.split(args.get("arguments", "")),
        drain_seconds,
        health_seconds,
    )
