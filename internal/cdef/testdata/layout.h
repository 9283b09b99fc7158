typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef u64 u64_4 __attribute__((aligned(4)));
typedef u8 u8_16 __attribute__((aligned(16)));
enum small { A, B = 200 };
enum negative { C = -1, D };
enum large { E = 0x100000000 };
enum __attribute__((packed)) tiny { F, G = 255 };

struct plain { char a; short b; int c; long d; char e; };
struct arrays { char name[5]; int n[3]; char grid[2][3]; long last[2][2]; };
struct pointers { char c; void *p; char *const *q; int (*fn)(int, char *); int (*table[4])(void); char (*rows)[7]; };
struct inner { int x; char y; };
struct nested { char c; struct inner in; struct inner arr[3]; struct { char k; long l; } anon; };
struct anonymous { char c; union { int i; char b[6]; struct { short s, t; }; }; struct { u8 m; u32 n; }; };
union both { char c; long l; char b[13]; };
struct flexible { int n; char data[]; };
struct zero { int n; long data[0]; };
struct enums { char c; enum small s; enum negative n; char d; enum large l; enum tiny t; };
struct bools { _Bool a; char b; _Bool c[3]; };
struct floats { char a; float f; char b; double d; char c; long double l; };
struct wide { char a; __int128 b; };
struct bits { unsigned a : 3; unsigned b : 5; unsigned c : 24; unsigned d : 1; };
struct bits2 { char a; int b : 7; int c : 26; short d : 9; char e; };
struct bits3 { u64 a : 33; u64 b : 32; u8 c : 1; u8 : 0; u8 d : 2; };
struct bits4 { u8 a : 4; u16 b : 12; u32 c : 20; int : 5; u32 e : 9; };
struct bits5 { char a; int : 0; char b; };
struct bits6 { _Bool a : 1; _Bool b : 1; enum small c : 9; signed d : 2; };
struct bits7 { long a : 40; char b; long c : 20; long d : 5; };
struct bits8 { char a; u64 b : 60; char c; };
struct bits9 { u16 a : 9, : 0, b : 3; };
union ubits { u32 a : 3; u8 b : 7; u64 c : 50; };
struct __attribute__((packed)) packed1 { char a; int b; long c; short d; };
struct packed2 { char a; struct { char b; int c; } __attribute__((packed)) in; int d; } __attribute__((packed));
struct packed3 { char a; int b __attribute__((packed)); long c; };
struct pbits { char a; unsigned b : 7; unsigned c : 20; u64 d : 40; } __attribute__((__packed__));
struct pbits2 { u8 a : 3; u32 b : 30; u8 c : 7; u64 d : 57; } __attribute__((packed));
struct pbits3 { u8 a : 3; u32 : 0; u8 c : 7; } __attribute__((packed));
struct aligned1 { char a; } __attribute__((aligned(16)));
struct __attribute__((aligned(8))) aligned2 { char a; int b; };
struct aligned3 { char a; int b __attribute__((aligned(32))); char c; };
struct aligned4 { char a; struct aligned1 b; char c; };
struct both2 { char a; long b; char c; } __attribute__((packed)) __attribute__((aligned(4)));
struct low { char a; u64_4 b; char c; u8_16 d; };
struct lowbits { char a; int b : 5 __attribute__((aligned(8))); int c : 4; };
struct sized { char a[sizeof(struct nested)]; char b[sizeof(long) * 2 + 1]; int c[(B >> 3) % 7]; char d[__builtin_offsetof(struct plain, d)]; };
#pragma pack(push, 2)
struct pragma1 { char a; int b; long c; };
#pragma pack(pop)
struct pragma2 { char a; int b; };
#pragma pack(1)
struct pragma3 { char a; int b : 20; int c : 20; };
#pragma pack()
struct after { char a; long b; };
