"""Everything for a room without network, in one folder."""
