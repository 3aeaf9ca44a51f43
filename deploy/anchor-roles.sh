#!/bin/sh
# Runs once. The anchor's role adds rows and never changes or removes any: the table is the superuser's.
set -eu
psql -v ON_ERROR_STOP=1 -v anchor="$TRUEKEEP_ANCHOR_PASSWORD" --username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE truekeep_anchor LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'anchor';
CREATE DATABASE anchors;
\connect anchors
CREATE TABLE truekeep_anchors (
    anchor text NOT NULL, term integer NOT NULL, seq bigint NOT NULL, record bytea NOT NULL,
    PRIMARY KEY (anchor, term, seq)
);
GRANT SELECT, INSERT ON truekeep_anchors TO truekeep_anchor;
SQL
