#!/bin/sh
# seen: 0 if the effect of this phase of this run is in the ledger, else 1. A probe that tells the truth.
grep -q "^effect $ONWARD_RUN $ONWARD_PHASE " "$RIG/ledger"
