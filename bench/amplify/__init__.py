"""`amplify`: what writing, reading and keeping data costs this store, beside what theory says."""
