"""Renders templates by Jinja2, set up as transformers sets it up: one line of JSON for each on stdin."""

import datetime
import json
import resource
import signal
import sys

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2026, 3, 5, 14, 7, 9, 123456)


class Generation(Extension):
    """The tag `generation`, as transformers parses it."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_support"), [], [], body).set_lineno(line)

    def _support(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


environment = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
)
environment.filters["tojson"] = tojson
environment.globals["raise_exception"] = raise_exception
environment.globals["strftime_now"] = NOW.strftime


def too_long(*_):
    raise TimeoutError


def main():
    resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
    signal.signal(signal.SIGALRM, too_long)
    variables = sys.stdin.readline()
    for line in sys.stdin:
        source = json.loads(line)
        # Filters of Jinja's change what they are given: indent appends a line break to a list.
        given = json.loads(variables)
        if isinstance(source, dict):
            source, given = source["template"], source["variables"]
        signal.alarm(5)
        try:
            outcome = {"text": environment.from_string(source).render(**given)}
        except BaseException as error:  # noqa: BLE001
            outcome = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
        signal.alarm(0)
        print(json.dumps(outcome))


main()
