package value

// Bits of gfp_t as include/linux/gfp_types.h numbers them since Linux 6.10.
const (
	gfpDMA           = 1 << 0
	gfpHighmem       = 1 << 1
	gfpDMA32         = 1 << 2
	gfpMovable       = 1 << 3
	gfpHigh          = 1 << 5
	gfpIO            = 1 << 6
	gfpFS            = 1 << 7
	gfpZero          = 1 << 8
	gfpDirectReclaim = 1 << 10
	gfpKswapdReclaim = 1 << 11
	gfpWrite         = 1 << 12
	gfpNowarn        = 1 << 13
	gfpRetryMayfail  = 1 << 14
	gfpNofail        = 1 << 15
	gfpNoretry       = 1 << 16
	gfpMemalloc      = 1 << 17
	gfpComp          = 1 << 18
	gfpNomemalloc    = 1 << 19
	gfpHardwall      = 1 << 20
	gfpThisnode      = 1 << 21
	gfpAccount       = 1 << 22
	gfpZerotags      = 1 << 23
	gfpSkipZero      = 1 << 24
	gfpSkipKasan     = 1 << 25
	gfpNoObjExt      = 1 << 26

	gfpNoIO            = gfpDirectReclaim | gfpKswapdReclaim
	gfpNoFS            = gfpNoIO | gfpIO
	gfpKernel          = gfpNoFS | gfpFS
	gfpUser            = gfpKernel | gfpHardwall
	gfpHighuser        = gfpUser | gfpHighmem
	gfpHighuserMovable = gfpHighuser | gfpMovable | gfpSkipKasan
	gfpTranshugeLight  = (gfpHighuserMovable | gfpComp | gfpNomemalloc | gfpNowarn) &^ gfpNoIO
	gfpTranshuge       = gfpTranshugeLight | gfpDirectReclaim
)

// gfpNames in the order in which they are matched: compounds before parts.
var gfpNames = [...]struct {
	name string
	bits uint64
}{
	{"GFP_TRANSHUGE", gfpTranshuge}, {"GFP_TRANSHUGE_LIGHT", gfpTranshugeLight},
	{"GFP_HIGHUSER_MOVABLE", gfpHighuserMovable}, {"GFP_HIGHUSER", gfpHighuser}, {"GFP_USER", gfpUser},
	{"GFP_KERNEL_ACCOUNT", gfpKernel | gfpAccount}, {"GFP_KERNEL", gfpKernel}, {"GFP_NOFS", gfpNoFS},
	{"GFP_ATOMIC", gfpHigh | gfpKswapdReclaim}, {"GFP_NOIO", gfpNoIO}, {"GFP_NOWAIT", gfpKswapdReclaim | gfpNowarn},
	{"GFP_DMA", gfpDMA}, {"__GFP_HIGHMEM", gfpHighmem}, {"GFP_DMA32", gfpDMA32}, {"__GFP_HIGH", gfpHigh},
	{"__GFP_IO", gfpIO}, {"__GFP_FS", gfpFS}, {"__GFP_ZERO", gfpZero},
	{"__GFP_DIRECT_RECLAIM", gfpDirectReclaim}, {"__GFP_KSWAPD_RECLAIM", gfpKswapdReclaim},
	{"__GFP_WRITE", gfpWrite}, {"__GFP_NOWARN", gfpNowarn}, {"__GFP_RETRY_MAYFAIL", gfpRetryMayfail},
	{"__GFP_NOFAIL", gfpNofail}, {"__GFP_NORETRY", gfpNoretry}, {"__GFP_MEMALLOC", gfpMemalloc},
	{"__GFP_COMP", gfpComp}, {"__GFP_NOMEMALLOC", gfpNomemalloc}, {"__GFP_HARDWALL", gfpHardwall},
	{"__GFP_THISNODE", gfpThisnode}, {"__GFP_ACCOUNT", gfpAccount}, {"__GFP_ZEROTAGS", gfpZerotags},
	{"__GFP_SKIP_ZERO", gfpSkipZero}, {"__GFP_SKIP_KASAN", gfpSkipKasan}, {"__GFP_NO_OBJ_EXT", gfpNoObjExt},
}

// appendGFP appends the names of allocation flags joined by '|', bits without
// a name in hexadecimal.
// Compounds come first, so that GFP_KERNEL is one word and not three.
func appendGFP(dst []byte, v uint64) []byte {
	if v == 0 {
		return append(dst, '0')
	}
	first := true
	sep := func() {
		if !first {
			dst = append(dst, '|')
		}
		first = false
	}
	for _, g := range gfpNames {
		if v&g.bits == g.bits {
			sep()
			dst = append(dst, g.name...)
			v &^= g.bits
		}
	}
	if v != 0 {
		sep()
		dst = appendPointer(dst, v)
	}
	return dst
}
