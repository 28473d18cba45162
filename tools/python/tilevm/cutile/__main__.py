import sys

from tilevm.cutile._script import main

sys.exit(main(sys.argv[1:]))
