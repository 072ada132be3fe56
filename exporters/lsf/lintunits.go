package lsf

import "slices"

// check makes the checks between units.
func (l *linter) check() {
	if len(l.units) == 0 {
		return
	}
	if l.types == nil {
		l.file = l.units[0].file
		l.errorf(0, "types", "no file has COMPUTE_UNIT_TYPES: must name the types of the units")
	}
	byName := map[string]lintUnit{}
	for _, u := range l.units {
		l.file = u.file
		if other, ok := byName[u.name]; ok {
			l.errorf(u.line, "unit-repeated", "unit %s: stands in line %d too: must stand once", u.name, other.line)
		}
		byName[u.name] = u
		if l.types != nil && !slices.Contains(l.types, u.kind) {
			l.errorf(u.line, "type-unknown", "unit %s: type %q: must be one of COMPUTE_UNIT_TYPES", u.name, u.kind)
		}
	}
	l.checkMembers(byName)
}

// checkMembers: every member is in one unit of a type; the finest type holds hosts, each other type units of the next finer one.
func (l *linter) checkMembers(byName map[string]lintUnit) {
	in := map[string]string{} // type and member -> unit
	for _, u := range l.units {
		l.file = u.file
		rank := slices.Index(l.types, u.kind)
		for _, m := range u.members {
			if m == "!" {
				continue // members come from an egroup
			}
			if other, ok := in[u.kind+" "+m]; ok {
				l.errorf(u.line, "member-twice", "unit %s: %s is also a member of %s: must be in one unit of the type %s", u.name, m, other, u.kind)
			}
			in[u.kind+" "+m] = u.name
			child, isUnit := byName[m]
			switch {
			case rank < 0:
			case rank == 0 && isUnit:
				l.errorf(u.line, "member-kind", "unit %s: the finest type %s must hold hosts, and %s is a unit", u.name, u.kind, m)
			case rank > 0 && !isUnit:
				l.errorf(u.line, "member-kind", "unit %s: must hold units of the type %s, and %s is none", u.name, l.types[rank-1], m)
			case rank > 0 && child.kind != l.types[rank-1]:
				l.errorf(u.line, "member-kind", "unit %s: must hold units of the type %s, and %s is of type %s", u.name, l.types[rank-1], m, child.kind)
			}
		}
	}
	l.checkParents(in)
}

// checkParents: a unit that is in no coarser one is invisible to jobs that ask for the coarser type.
func (l *linter) checkParents(in map[string]string) {
	for _, u := range l.units {
		rank := slices.Index(l.types, u.kind)
		if rank < 0 || rank == len(l.types)-1 {
			continue
		}
		if coarser := l.types[rank+1]; in[coarser+" "+u.name] == "" {
			l.file = u.file
			l.errorf(u.line, "unit-alone", "unit %s is in no unit of the type %s: jobs that ask for that type would not use it", u.name, coarser)
		}
	}
}
