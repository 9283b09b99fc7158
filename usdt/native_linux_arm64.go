package usdt

// native is the isa of this machine, nil if there is none.
var native = &arm64

// memfdCreate is the number of the system call.
const memfdCreate = 279
