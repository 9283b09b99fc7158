"""Run scripts of hawk from Python: one file, no dependencies, Python 3.8 or newer.

    with hawk.Hawk() as h:
        run = h.start("tracepoint:sched:sched_process_exec { print((pid=pid, comm=comm)); }")
        for event in run:
            if event["kind"] == "print":
                print(event["value"]["pid"], event["value"]["comm"])

The command hawk does the work: `hawk serve --stdio` reads requests and writes answers
and events, one JSON object a line. Everything is detached when the with block ends.
"""

import collections
import itertools
import json
import queue
import subprocess
import threading


_GONE = {"code": 0, "message": "hawk has ended"}


class Error(Exception):
    """What hawk refuses: .diagnostics has the messages about a script."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]
        self.diagnostics = error.get("data") or []


class Run:
    """A running script; iterating yields its events as dictionaries until it ends.

    Maps can be read until stop() is called, or nobody has the Run any more."""

    def __init__(self, hawk, id):
        self.hawk, self.id, self.attached, self.status = hawk, id, 0, None
        self._events = queue.Queue()

    def __iter__(self):
        while self.status is None:
            event = self._events.get()
            if event["kind"] == "ended":
                self.status = event.get("status", 1)
                return
            yield event

    def map(self, name):
        """The entries of a map, a list of [key, value]."""
        return self.hawk.call("map.snapshot", id=self.id, map=name)["entries"]

    def take(self, name):
        """The entries of a map, which are removed; start() needs take=True."""
        return self.hawk.call("map.take", id=self.id, map=name)["entries"]

    def stats(self):
        return self.hawk.call("stats", id=self.id)

    def stop(self):
        """Stops the script as Ctrl-C does; what it still prints can be read then."""
        return self.hawk.call("stop", id=self.id)

    def __del__(self):
        self.hawk._left.append(self.id)


class Hawk:
    """A hawk that serves this program."""

    def __init__(self, command="hawk"):
        self._process = subprocess.Popen(
            [command, "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._ids, self._answers, self._runs = itertools.count(1), {}, {}
        self._lock = threading.Lock()
        self._left = collections.deque()  # programs that nobody has any more: the next call frees them
        self.warnings = []  # diagnostics that are no errors
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def call(self, method, **params):
        """Calls a method and waits for its result."""
        answer = queue.Queue()
        with self._lock:
            id = next(self._ids)
            self._answers[id] = answer
            lines = [{"method": "stop", "params": {"id": self._left.popleft()}} for _ in range(len(self._left))]
            lines.append({"id": id, "method": method, "params": params})
            text = "".join(json.dumps(dict(line, jsonrpc="2.0")) + "\n" for line in lines)
            try:
                self._process.stdin.write(text.encode())
                self._process.stdin.flush()
            except (OSError, ValueError):  # the pipe is broken or closed
                raise Error(_GONE) from None
        message = answer.get()
        if "error" in message:
            raise Error(message["error"])
        return message["result"]

    def check(self, script, **options):
        """Finds the mistakes of a script, an Error; else yields what it attaches to."""
        return self.call("check", script=script, **options)["probes"]

    def probes(self, pattern, **options):
        return self.call("probes", pattern=pattern, **options)

    def start(self, script, maps=False, **options):
        """Compiles and starts a script. Options: args, options, config, pid, unsafe, take, name."""
        id = self.call("compile", script=script, **options)["id"]
        run = Run(self, id)
        self._runs[id] = run._events
        try:
            run.attached = self.call("start", id=id, maps=maps, unsafe=options.get("unsafe", False))["attached"]
        except Error:
            del self._runs[id]
            raise
        return run

    def close(self):
        """Detaches everything and ends hawk."""
        try:
            self._process.stdin.close()
        except OSError:
            pass  # it has ended
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()

    def _read(self):
        for line in self._process.stdout:
            message = json.loads(line)
            if "method" not in message:  # the oldest request is meant by an answer without a number
                self._answers.pop(message["id"] or min(self._answers)).put(message)
            elif message.get("method") == "event":
                event = message["params"]
                ended = event["kind"] == "ended"
                (self._runs.pop if ended else self._runs.get)(event["id"]).put(event)
            elif message.get("method") == "diagnostic":
                self.warnings.append(message["params"])
        for answer in list(self._answers.values()):
            answer.put({"error": _GONE})
        for events in list(self._runs.values()):
            events.put({"kind": "ended"})

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
