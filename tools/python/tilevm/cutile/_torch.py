def install_when_imported(): pass
