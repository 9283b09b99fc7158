package probe

// A MechanismID is what a compiled script calls a mechanism. Of two scripts that were
// compiled by one hawk, the same ID is the same mechanism; Name may be shared.
type MechanismID string

// Name is what -v and messages call the mechanism.
func (id MechanismID) Name() string {
	if m, ok := mechanisms[id]; ok {
		return m.Name
	}
	return string(id)
}

// mechanisms are all that there are.
var mechanisms = make(map[MechanismID]*Mechanism, 64)

// AddMechanisms enters rows into the table and gives them their identities. Each
// room of kinds calls it once; an identity that is taken is a mistake there.
func AddMechanisms(rows map[MechanismID]*Mechanism) bool {
	for id, m := range rows {
		if mechanisms[id] != nil || m.ID != "" {
			panic("probe: the mechanism " + string(id) + " is a row twice")
		}
		m.ID, mechanisms[id] = id, m
	}
	return true
}

// Mechanisms are the rows of the table.
func Mechanisms() map[MechanismID]*Mechanism { return mechanisms }

var _ = AddMechanisms(map[MechanismID]*Mechanism{
	"self":   inProcess,
	"packet": dummyPacket,
})
