"""Run scripts of hawk from Python: one file, no dependencies, Python 3.8 or newer.

    with hawk.Hawk() as h:
        run = h.start("tracepoint:sched:sched_process_exec { print((pid=pid, comm=comm)); }")
        for event in run:
            if event["kind"] == "print":
                print(event["value"]["pid"], event["value"]["comm"])

The command hawk does the work: `hawk serve --stdio` reads requests and writes answers
and events, one JSON object a line. Everything is detached when the with block ends.
"""

import itertools
import json
import queue
import subprocess
import threading


class Error(Exception):
    """What hawk refuses: .diagnostics has the messages about a script."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]
        self.diagnostics = error.get("data") or []


class Run:
    """A running script; iterating yields its events as dictionaries until it ends."""

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


class Hawk:
    """A hawk that serves this program."""

    def __init__(self, command="hawk"):
        self._process = subprocess.Popen(
            [command, "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._ids, self._answers, self._runs = itertools.count(1), {}, {}
        self._lock = threading.Lock()
        self.warnings = []  # diagnostics that are no errors
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def call(self, method, **params):
        """Calls a method and waits for its result."""
        answer = queue.Queue()
        with self._lock:
            id = next(self._ids)
            self._answers[id] = answer
            request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
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
        run = self._runs[id] = Run(self, id)
        run.attached = self.call("start", id=id, maps=maps, unsafe=options.get("unsafe", False))["attached"]
        return run

    def close(self):
        """Detaches everything and ends hawk."""
        self._process.stdin.close()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()

    def _read(self):
        for line in self._process.stdout:
            message = json.loads(line)
            if "id" in message:
                self._answers.pop(message["id"]).put(message)
            elif message["method"] == "event":
                self._runs[message["params"]["id"]]._events.put(message["params"])
            else:
                self.warnings.append(message["params"])
        gone = {"error": {"code": 0, "message": "hawk has ended"}}
        for answer in list(self._answers.values()):
            answer.put(gone)
        for run in self._runs.values():
            run._events.put({"kind": "ended"})

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
