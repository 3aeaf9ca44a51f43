#!/bin/sh
# Runs once, when PostgreSQL's data directory is made: one role owns the tables and migrates, the other serves.
set -eu
psql -v ON_ERROR_STOP=1 -v owner="$TRUEKEEP_OWNER_PASSWORD" -v service="$TRUEKEEP_SERVICE_PASSWORD" \
  --username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE truekeep_owner LOGIN PASSWORD :'owner';
CREATE ROLE truekeep_service LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'service';
CREATE DATABASE keeps OWNER truekeep_owner;
REVOKE CONNECT ON DATABASE keeps FROM PUBLIC;
GRANT CONNECT ON DATABASE keeps TO truekeep_service;
SQL
