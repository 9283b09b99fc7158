package syntax

// corpus is scripts in the manner of everyday tracing: all of them parse without
// a word. They are the round-trip tests and the seeds of the fuzz targets.
var corpus = []string{
	`begin { printf("hello\n"); }`,
	`BEGIN { printf("Tracing... Hit Ctrl-C to end.\n"); } END { clear(@start); }`,
	`begin{printf("x\n");exit(42);} i:s:1 /pid==2/ { @a[1,2]=1; if(1){@=1}else{@=2} }`,
	`tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }`,
	`tracepoint:syscalls:sys_enter_openat { printf("%-6d %-16s %s\n", pid, comm, str(args.filename)); }`,
	`tracepoint:syscalls:sys_exit_read /args->ret > 0/ { @bytes[comm] = sum(args->ret); @h = hist(args.ret); }`,
	`kprobe:vfs_read { @start[tid] = nsecs; }
kretprobe:vfs_read /@start[tid]/ { @ns[comm] = hist(nsecs - @start[tid]); delete(@start[tid]); }`,
	`kprobe:vfs_read,kprobe:vfs_write,kretprobe:vfs_* { @[func, probe]++; }`,
	`kprobe:do_nanosleep { printf("%s by %d %d\n", kstack(5), pid, ((struct task_struct *)curtask)->mm->total_vm); }`,
	`kprobe:tcp_connect { $sk = (struct sock *)arg0; $f = $sk->__sk_common.skc_family;
  if ($f == AF_INET || $f == 10) { $d = ntop($sk->__sk_common.skc_daddr); printf("%s:%d\n", $d, ($sk->__sk_common.skc_dport >> 8) | (($sk->__sk_common.skc_dport << 8) & 0xff00)); } }`,
	`fentry:vfs_read { @ = count(); } fexit:vfs_read { @r = lhist(retval, 0, 1000, 100); }`,
	`uprobe:/bin/bash:readline, uretprobe:/bin/bash:readline { printf("%s\n", str(retval)); }`,
	`uprobe:/usr/lib/libc.so.6:"operator new(unsigned long)" /arg0 > 1024/ { @[ustack(perf, 4)] = count(); }`,
	`uprobe:/bin/app@main.c:10:3 { print(args); }`,
	`uprobe:/bin//x:f { print(*args); }`,
	`usdt:./a:prov:"\"odd\"" { print(arg0); }`,
	`profile:hz:99 / pid == $1 / { @[kstack] = count(); }`,
	`interval:s:1 { time("%H:%M:%S\n"); print(@x, 5, 1000); zero(@x); }`,
	`software:page-faults:1,hardware:cache-misses:1e6 { @[comm, cpu] = count(); }`,
	`watchpoint:0x10000000:8:rw { printf("hit\n"); }`,
	`iter:task { $t = ctx->task; printf("%d\n", $t->pid); }`,
	`self:signal:SIGUSR1 { print(@); }`,
	`warmup=interval:s:1 { exit(); }`,
	`begin , end { print(probe); }`,
	`begin, { @x = 1; }`,
	`begin/1/{ print("in"); }`,
	`begin /7 / 2 == 3/ { print("in"); }`,
	`begin / $x / 2 > 5 / { }`,
	`begin / *$p == 1 / { }`,
	`begin // comment
{ }`,
	`begin/* comment */{ }`,
	"#!/usr/bin/env hawk\n#include <linux/sched.h>\n#define N M + 1\n#define LONG a \\\n  b\nbegin { print(N * 2); }",
	"struct foo { int a; /* } */ char b[4]; } __attribute__((packed)) ;\nunion u { int x; }\nenum lvl { LOW, HIGH " +
		"= 4 }\nstruct __attribute__((aligned(8))) bar { long y; };\nbegin { $f = (struct foo *)0; print($f->a); }",
	"typedef struct { int a; } t;\nbegin { print(sizeof(t)); }",
	`config = { max_strlen = 1m; missing_probes=warn; license="GPL v2"; print_maps_on_exit=false; ` +
		`str_trunc_trailer="true" } begin { }`,
	`config = { stack_mode = "perf" } import "lib.bt"; import "x.h"; let @m = percpuhash(10); let @ = hash(5)
begin { @m[1] = count(); }`,
	`macro sq(x) { x * x } macro bump($v, @m) { $v += 2; @m[1] = $v; } begin { $g = sq(1 + 2); bump($g, @m); }`,
	`macro none { 1 } macro pick(c) { if c { 1 } else if (!c) { 2 } else { 3 } } begin { print(pick(none)); }`,
	`macro cast_to(t, v) { (t)v } begin { print(cast_to(typeof(uint8), 300)); }`,
	`macro m(x) { (x) - 1 + (x) * 2 + (x) & 3 }`,
	`fn add($a: int64, $b: struct foo *): uint64 { return $a + $b->c; } fn nop(): void { return; }`,
	`begin { let $x; let $y: uint8 = 3; let $z: struct task_struct *[4]; let $w: typeof(@m) = 1; let $v: ` +
		`typeof(struct foo)*; }`,
	`begin { let ($a, $b) = (1, "x"); let ($c) = $kv; let ($d, $e,) = { (1, 2) }; }`,
	`begin { let $a: unsigned long long = 1; let $b: const char * const; let $c: string[8][4]; }`,
	`begin { $x = 1; $x += 1; $x -= 1; $x *= 2; $x /= 2; $x %= 2; $x &= 1; $x |= 1; $x ^= 1; $x <<= 1; $x >>= 1; }`,
	`begin { $x++; --$x; @a++; ++@a[1]; @[1, "x"]--; }`,
	`begin { $c ? f() : g(); $y = $c ?: 3; $z = $a ? $b ? 1 : 2 : $c ? 3 : 4; }`,
	`begin { if $x { f() } else if ($y == 2) { g(); } else { } if !pid { exit() } if is_big($x) {} if comptime ` +
		`(sizeof(uint16) == 2) { print("two") } }`,
	`begin { while ($i < 10) { $i++; if ($i == 5) { continue; } break } unroll(5) { $i++ } unroll $1 { print(1) } ` +
		`while 1 { } }`,
	`begin { for ($i : 0..10) { print($i) } for $kv : @m { print($kv.0); print($kv.1.0) } for $i : $a + 1..f($b) * ` +
		`2 { } for ($i : (1)..{ 2 }) { } }`,
	`begin { _ = f(); _ = 2; $_ = 1; @_ = 2; return; }`,
	`begin { $t = (1, "a", (2,), ()); $u = (1, 2,); print($t.0.1); print($t[0]); $r = (lo=1, hi="b"); ` +
		`print($r.lo == 2); }`,
	`begin { $y = { let $u = 6; $u * 7 }; $z = if ($y > 1) { "a" } else { "b" }; { $k += 1; } { } }`,
	`begin { print(sizeof(struct foo)); print(sizeof(uint64)); print(sizeof(uint8[4])); print(sizeof($x)); ` +
		`print(sizeof((name)[3])); print(offsetof(struct foo, a.b.struct)); print(offsetof($x, y)); ` +
		`print(typeinfo(@m).full_type); }`,
	`begin { print(sizeof(comm)); print(sizeof(a * b)); print(sizeof(pid)); print(sizeof(a * *)); }`,
	`begin { print((uint16)(int8)-56); print((int64)(uint32)-1); print((uint8[])"abc"); print((enum lvl)4); ` +
		`print((unsigned int)1); print((typeof($x))2); print((typeof(uint8)*)$p); }`,
	`begin { print((pid) * tid); print((foo) & 0xff); print((uint64)&$x); print((a, b)); print((a)); print((a) - 1); }`,
	`begin { print(-1 - -1); print(- -$x); print(-(--$x)); print(!!$x); print(~0); print(**$p); print(&@m); ` +
		`print(&$x); }`,
	`begin { print(1 + 2 * 3 - 4 / 5 % 6); print((1 + 2) * 3); print(a & b == c); print(1 << 2 | 3 ^ 4 && 5 || 6); ` +
		`print(1 < 2 == 3 >= 4); }`,
	`begin { print(args->x->y[3].z); print((*args).x); print(arg0 + sarg1); print(nsecs(tai)); print(pid(init)); ` +
		`print($1 + $#); print(str($2)); }`,
	`begin { print(0x1F); print(0b101); print(017); print(3e3); print(2_500); print(3us); print(1e3ms); ` +
		`print(0xffUL); print(18446744073709551615); }`,
	`begin { print("esc \n \t \r \" \\ \101 \x41 \0"); }`,
	`begin { delete(@m, 1); delete(@m[1, 2]); delete(@s); print(has_key(@m, (1, 2))); find(@m, 1, $v); }`,
	`begin { import "x"; }`,
	`begin { $x = 1;; ; if (1) { }; }`,
	`begin { @x = args.data.struct.if.for; print(format + import1 + ifx); }`,
	`k:f+0x10{@=1}k:g{@=2}`,
	"\ufeffbegin { }",
	`// leading
/* block */
begin // after begin
{
  // first

  $x = 1; // trailing
  /* own */
  f(/* inside */ $x, // line
    2 /* two */); /* after */
  if ($x) { // why
    g(); } // closing
  else { /* empty */ }
  printf("%d %d\n",
         pid,   // the pid
         tid);
  $y = $a &&
       // about b
       $b;
}

// between

/* multi
   line */
end, // one
// two
i:s:1 // three
/pid /* p */ == 1/ // four
{
}
// last`,
	`config = {
  // a comment
  max_strlen = 64; // trailing

  max_map_keys = 10
  /* end */
}
begin {}`,
	`config = { // settings
  max_strlen = 64 }
macro share(part,
  whole) { (uint64)(part) * 100 / (whole) + (part)
  - 1 + (other) * 2 }
begin { $a = (nsecs) - @start + (pid_t)-1;
  @times[$a == 1 ? "read"
    : $b ? "write" :
    "sync"] =
    hist($a);
  let $b: uint64 =
    $a ?:
    3; let ($c,
    $d) =
    (1, 2);
  row(
    "PID COMM",
    pid, comm, f($a,
      $b));
  $r = (
    low=1, high=2,
    middle=3); @m[
    1, 2] = 1;
  if ($a == 1) { // one
    g(); } else { // two
    h(); }
}`,
}
