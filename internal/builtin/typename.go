package builtin

import (
	"fmt"

	"github.com/hawktrace/hawk/internal/types"
)

// typeNames are the types of what builtins yield by the names that scripts
// have for them.
var typeNames = map[string]*types.Deferred{
	"ksym_t": ksymType, "usym_t": usymType, "macaddr_t": macType, "username_t": username, "inet": inetType,
	"timestamp":     {Name: "timestamp", By: types.TimeText, Bytes: 16, Algn: 8, Open: true},
	"cgroup_path_t": {Name: "cgroup_path_t", By: types.CgroupText, Bytes: 16, Algn: 8, Open: true},
}

// NamedType finds the type of a builtin's result by the name that scripts have
// for it.
func NamedType(name string) (types.Type, bool) {
	t, ok := typeNames[name]
	if !ok {
		return nil, false
	}
	return t, true
}

// InetOf is inet[n], of which inet is the one that holds every address.
func InetOf(n int) types.Type {
	if n == inetType.Bytes {
		return inetType
	}
	return &types.Deferred{Name: fmt.Sprintf("inet[%d]", n), By: inetType.By, Bytes: n, Algn: inetType.Algn}
}

// IsInet reports whether t is inet, whose brackets are its capacity.
func IsInet(t types.Type) bool { return t == types.Type(inetType) }
