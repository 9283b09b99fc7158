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
import contextlib
import itertools
import json
import queue
import subprocess
import threading

_GONE = {"code": 0, "message": "hawk has ended"}
HELD = 65536  # events that a Run holds for a slow reader: others are dropped, as its stats tell


class Error(Exception):
    """What hawk refuses: .diagnostics has the messages about a script."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]
        self.diagnostics = error.get("data") or []


class Run:
    """A running script; iterating yields its events as dictionaries until it ends. Maps can be read until
    stop() is called, or nobody has the Run any more."""

    def __init__(self, hawk, id):
        self.hawk, self.id, self.attached, self.status = hawk, id, 0, None
        self._events = queue.Queue()
        self._events.dropped = 0

    def __iter__(self):
        while self.status is None:
            event = self._events.get()
            if event["kind"] == "ended":
                self.status = event.get("status", 1)
                return self._events.put(event)  # for others who iterate
            yield event

    def map(self, name):
        """The entries of a map, a list of [key, value]."""
        return self.hawk.call("map.snapshot", id=self.id, map=name)["entries"]

    def take(self, name):
        """The entries of a map, which are removed; start() needs take=True."""
        return self.hawk.call("map.take", id=self.id, map=name)["entries"]

    def stats(self):
        """How many events were read (Events), lost by the kernel (Lost) or dropped for a slow reader (Dropped),
        how often a probe did not run (Missed), how many strings could not be read (Unread)."""
        stats, dropped = self.hawk.call("stats", id=self.id), self._events.dropped
        return dict(stats, Events=stats["Events"] - dropped, Dropped=stats["Dropped"] + dropped)

    def stop(self):
        """Stops the script as Ctrl-C does; what it still prints can be read then."""
        return self.hawk.call("stop", id=self.id)

    def __del__(self):
        self.hawk._left.append(self.id)


class Hawk(contextlib.AbstractContextManager):
    """A hawk that serves this program; command is where it is found."""

    def __init__(self, command="hawk"):
        self._process = subprocess.Popen(  # in a session of its own: Ctrl-C is for this program
            [command, "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self._ids, self._answers, self._runs, self._lock = itertools.count(1), {}, {}, threading.Lock()
        self._left = collections.deque()  # programs that nobody has any more: the next call frees them
        self.warnings = []  # diagnostics that are no errors
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def call(self, method, **params):
        """Calls a method and waits for its result."""
        with self._lock:
            id = next(self._ids)
            answer = self._answers[id] = queue.Queue()
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
        """The names of what a pattern matches, as hawk -l lists them. Option: pid."""
        return self.call("probes", pattern=pattern, **options)

    def start(self, script, maps=False, **options):
        """Compiles and starts a script. Options: args, options, config, pid, unsafe, take, name."""
        id = self.call("compile", script=script, **options)["id"]
        run = Run(self, id)
        self._runs[id] = run._events
        try:
            run.attached = self.call("start", id=id, maps=maps, unsafe=options.get("unsafe", False))["attached"]
            return run
        except Error:
            del self._runs[id]
            raise

    def close(self, *exception):
        """Detaches everything and ends hawk."""
        with contextlib.suppress(OSError):  # it has ended
            self._process.stdin.close()
        self._reader.join(10)
        if self._reader.is_alive():  # a process that was forked from here holds its input, too
            self._process.terminate()
        self._reader.join()
        self._process.wait()
        self._process.stdout.close()
    __exit__ = close

    def _read(self):
        for line in self._process.stdout:
            message = json.loads(line) if line.startswith(b"{") else {"method": "what starts hawk says"}
            if "method" not in message:  # the oldest request is meant by an answer without a number
                self._answers.pop(message["id"] or min(self._answers)).put(message)
            elif message["method"] == "event":
                event = message["params"]
                ended = event["kind"] == "ended"
                events = (self._runs.pop if ended else self._runs.get)(event["id"])
                if event["kind"] in ("print", "printf", "text") and events.qsize() >= HELD:
                    events.dropped += 1
                else:
                    events.put(event)
            elif message["method"] == "diagnostic":
                self.warnings.append(message["params"])
        with self._lock, contextlib.suppress(OSError):  # calls from here on fail
            self._process.stdin.close()
        for waiting in [*self._answers.values(), *self._runs.values()]:
            waiting.put({"error": _GONE, "kind": "ended"})
