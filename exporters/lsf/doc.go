// Package lsf renders the map for IBM Spectrum LSF 10.1: compute units for jobs that ask "-R cu[...]", and the host file of one
// placement.
//
//	lsb.hosts    #INCLUDE "railmap.computeunits"
//	lsb.params   the COMPUTE_UNIT_TYPES line of railmap.params
//	lsf.shared   the Resource lines of railmap.resources
//
// After a change: badmin ckconfig, then badmin reconfig. Lint reads the files back with IBM's rules for compute units; no LSF
// was at hand to run them.
package lsf
