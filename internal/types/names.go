package types

// Named returns the type that a name means in every script, whatever headers
// or kernel type information say: the language's own names and those of C and
// its headers. string, buffer and the other types
// whose capacity is written in brackets are returned without one.
func Named(name string) (Type, bool) {
	switch name {
	case "int8", "int8_t", "s8", "__s8", "char", "signed char":
		return Int8, true
	case "int16", "int16_t", "s16", "__s16", "short", "short int", "signed short", "signed short int":
		return Int16, true
	case "int32", "int32_t", "s32", "__s32", "int", "signed", "signed int", "pid_t":
		return Int32, true
	case "int64", "int64_t", "s64", "__s64", "long", "long int", "long long", "long long int", "signed long",
		"signed long int", "signed long long", "signed long long int", "ssize_t", "intptr_t", "ptrdiff_t",
		"off_t", "loff_t", "time_t":
		return Int64, true
	case "uint8", "uint8_t", "u8", "__u8", "unsigned char":
		return Uint8, true
	case "uint16", "uint16_t", "u16", "__u16", "unsigned short", "unsigned short int", "umode_t", "__be16", "__le16":
		return Uint16, true
	case "uint32", "uint32_t", "u32", "__u32", "unsigned", "unsigned int", "uid_t", "gid_t", "dev_t",
		"__be32", "__le32":
		return Uint32, true
	case "uint64", "uint64_t", "u64", "__u64", "unsigned long", "unsigned long int", "unsigned long long",
		"unsigned long long int", "size_t", "uintptr_t", "ino_t", "sector_t", "__be64", "__le64":
		return Uint64, true
	case "bool", "_Bool":
		return Bool, true
	case "void":
		return Void, true
	case "string":
		return &String{}, true
	case "buffer":
		return &Buffer{}, true
	}
	return nil, false
}

// NamedAgg returns the aggregation that a type name such as usum_t stands for.
// Such names exist so that errors can speak of them; no variable has such a
// type.
func NamedAgg(name string) (*Agg, bool) {
	switch name {
	case "count_t":
		return &Agg{Kind: "count"}, true
	case "sum_t", "min_t", "max_t", "avg_t", "stats_t":
		return &Agg{Kind: name[:len(name)-2], Signed: true}, true
	case "usum_t", "umin_t", "umax_t", "uavg_t", "ustats_t":
		return &Agg{Kind: name[1 : len(name)-2]}, true
	}
	return nil, false
}
