"""The program `quorum`. An installed quorum holds its other packages below this folder."""

import os
import sys

_HERE = os.path.dirname(__file__)
# For who imports `quorum.api` outside of the program, as the tests of a plug-in do: last, so that nothing of
# theirs is shadowed. The program itself puts this folder first.
if os.path.isdir(os.path.join(_HERE, "domain")) and _HERE not in sys.path:
    sys.path.append(_HERE)
