"""rocpd's tables and views (schema version 3, ROCm 7): the names and columns that other tools ask for.

Tables carry the run's UUID as a suffix and a column ``guid``; a view of the same name without the suffix stands before each.
Foreign keys are left out. ``!`` marks a column that may not be null; a type follows a blank, INTEGER where there is none.
"""

from __future__ import annotations

_EXTRA = "extdata JSONB"
_TABLES = {
    "metadata": "tag! TEXT, value! TEXT",
    "string": "guid TEXT, string! TEXT",
    "info_node": "guid TEXT, hash! BIGINT, machine_id! TEXT, system_name TEXT, hostname TEXT, release TEXT, version TEXT, "
    "hardware_name TEXT, domain_name TEXT",
    "info_process": "guid TEXT, nid!, ppid, pid!, init BIGINT, fini BIGINT, start BIGINT, end BIGINT, "
    "command TEXT, environment JSONB, " + _EXTRA,
    "info_thread": "guid TEXT, nid!, ppid, pid!, tid!, name TEXT, start BIGINT, end BIGINT, " + _EXTRA,
    "info_agent": "guid TEXT, nid!, pid!, type TEXT, absolute_index, logical_index, type_index, uuid, name TEXT, model_name TEXT, "
    "vendor_name TEXT, product_name TEXT, user_name TEXT, " + _EXTRA,
    "info_queue": "guid TEXT, nid!, pid!, name TEXT, " + _EXTRA,
    "info_stream": "guid TEXT, nid!, pid!, name TEXT, " + _EXTRA,
    "info_pmc": "guid TEXT, nid!, pid!, agent_id, target_arch TEXT, event_code INT, instance_id, name! TEXT, symbol! TEXT, "
    "description TEXT, long_description TEXT, component TEXT, units TEXT, value_type TEXT, block TEXT, expression TEXT, is_constant, "
    "is_derived, " + _EXTRA,
    "info_code_object": "guid TEXT, nid!, pid!, agent_id, uri TEXT, load_base BIGINT, load_size BIGINT, load_delta BIGINT, "
    "storage_type TEXT, " + _EXTRA,
    "info_kernel_symbol": "guid TEXT, nid!, pid!, code_object_id!, kernel_name TEXT, display_name TEXT, kernel_object, "
    "kernarg_segment_size, kernarg_segment_alignment, group_segment_size, private_segment_size, sgpr_count, arch_vgpr_count, "
    "accum_vgpr_count, " + _EXTRA,
    "track": "guid TEXT, nid!, pid, tid, name_id, " + _EXTRA,
    "event": "guid TEXT, category_id, stack_id, parent_stack_id, correlation_id, call_stack JSONB, line_info JSONB, " + _EXTRA,
    "arg": "guid TEXT, event_id!, position!, type! TEXT, name! TEXT, value TEXT, " + _EXTRA,
    "pmc_event": "guid TEXT, event_id, pmc_id!, value REAL, " + _EXTRA,
    "region": "guid TEXT, nid!, pid!, tid!, start! BIGINT, end! BIGINT, name_id!, event_id, " + _EXTRA,
    "sample": "guid TEXT, track_id!, timestamp! BIGINT, event_id, " + _EXTRA,
    "kernel_dispatch": "guid TEXT, nid!, pid!, tid, agent_id!, kernel_id!, dispatch_id!, queue_id!, stream_id!, start! "
    "BIGINT, end! BIGINT, "
    "private_segment_size, group_segment_size, workgroup_size_x!, workgroup_size_y!, workgroup_size_z!, grid_size_x!, grid_size_y!, "
    "grid_size_z!, region_name_id, event_id, " + _EXTRA,
    "memory_copy": "guid TEXT, nid!, pid!, tid, start! BIGINT, end! BIGINT, name_id!, dst_agent_id, dst_address, "
    "src_agent_id, src_address, "
    "size!, queue_id, stream_id, region_name_id, event_id, " + _EXTRA,
    "memory_allocate": "guid TEXT, nid!, pid!, tid, agent_id, type TEXT, level TEXT, start! BIGINT, end! BIGINT, "
    "address, size!, queue_id, "
    "stream_id, event_id, " + _EXTRA,
}  # fmt: skip


def _who(row: str) -> str:
    process = f"JOIN rocpd_info_process P ON P.id = {row}.pid AND P.guid = {row}.guid"
    return f"{process} LEFT JOIN rocpd_info_thread T ON T.id = {row}.tid AND T.guid = {row}.guid"


_CATEGORY = "(SELECT string FROM rocpd_string WHERE id = E.category_id AND guid = E.guid) AS category"
_TIMES = '{0}.start, {0}."end", {0}."end" - {0}.start AS duration'
_EVENT = "E.stack_id, E.parent_stack_id, E.correlation_id AS corr_id"
_ALL_TIMES = 'SELECT start, "end" FROM rocpd_kernel_dispatch UNION ALL SELECT start, "end" FROM rocpd_memory_copy'
_VIEWS = {
    "processes": 'SELECT N.id AS nid, N.machine_id, N.system_name, N.hostname, N.release AS system_release, N.version AS system_version, '
    'P.guid, P.ppid, P.pid, P.init, P.start, P."end", P.fini, P.command FROM rocpd_info_process P JOIN rocpd_info_node N ON N.id = P.nid',
    "threads": 'SELECT N.id AS nid, N.machine_id, N.system_name, N.hostname, N.release AS system_release, N.version AS system_version, '
    'P.guid, P.ppid, P.pid, T.tid, T.start, T."end", T.name FROM rocpd_info_thread T JOIN rocpd_info_process P ON P.id = T.pid '
    "JOIN rocpd_info_node N ON N.id = T.nid",
    "kernel_symbols": "SELECT S.id, S.guid, S.nid, P.pid, S.code_object_id, S.kernel_name, S.display_name, S.kernel_object, "
    "S.kernarg_segment_size, S.kernarg_segment_alignment, S.group_segment_size, S.private_segment_size, S.sgpr_count, S.arch_vgpr_count, "
    "S.accum_vgpr_count, S.id AS kernel_id, S.display_name AS formatted_kernel_name FROM rocpd_info_kernel_symbol S "
    "JOIN rocpd_info_process P ON P.id = S.pid",
    "regions": f"SELECT R.id, R.guid, {_CATEGORY}, S.string AS name, R.nid, P.pid, T.tid, {_TIMES.format('R')}, R.event_id, {_EVENT}, "
    f"E.extdata, E.call_stack, E.line_info FROM rocpd_region R JOIN rocpd_event E ON E.id = R.event_id AND E.guid = R.guid "
    f"JOIN rocpd_string S ON S.id = R.name_id AND S.guid = R.guid {_who('R')}",
    "kernels": f"SELECT K.id, K.guid, T.tid, {_CATEGORY}, G.string AS region, S.display_name AS name, K.nid, P.pid, "
    "A.absolute_index AS agent_abs_index, A.logical_index AS agent_log_index, A.type_index AS agent_type_index, A.type AS agent_type, "
    "S.code_object_id, K.kernel_id, K.dispatch_id, K.stream_id, K.queue_id, Q.name AS queue, ST.name AS stream, "
    f"{_TIMES.format('K')}, K.grid_size_x AS grid_x, K.grid_size_y AS grid_y, K.grid_size_z AS "
    "grid_z, K.workgroup_size_x AS workgroup_x, "
    "K.workgroup_size_y AS workgroup_y, K.workgroup_size_z AS workgroup_z, K.group_segment_size AS lds_size, "
    "K.private_segment_size AS scratch_size, S.arch_vgpr_count AS vgpr_count, S.accum_vgpr_count, S.sgpr_count, "
    "S.group_segment_size AS static_lds_size, S.private_segment_size AS static_scratch_size, "
    f"{_EVENT} FROM rocpd_kernel_dispatch K JOIN rocpd_info_agent A ON A.id = K.agent_id AND A.guid = K.guid "
    "JOIN rocpd_event E ON E.id = K.event_id AND E.guid = K.guid JOIN rocpd_string G ON G.id = K.region_name_id AND G.guid = K.guid "
    "JOIN rocpd_info_kernel_symbol S ON S.id = K.kernel_id AND S.guid = K.guid "
    "LEFT JOIN rocpd_info_stream ST ON ST.id = K.stream_id AND ST.guid = K.guid "
    f"LEFT JOIN rocpd_info_queue Q ON Q.id = K.queue_id AND Q.guid = K.guid {_who('K')}",
    "memory_copies": f"SELECT M.id, M.guid, {_CATEGORY}, M.nid, P.pid, T.tid, {_TIMES.format('M')}, S.string AS name, "
    "G.string AS region_name, "
    "M.stream_id, M.queue_id, ST.name AS stream_name, Q.name AS queue_name, M.size, D.name AS dst_device, D.absolute_index AS "
    "dst_agent_abs_index, D.logical_index AS dst_agent_log_index, D.type_index AS dst_agent_type_index, D.type AS dst_agent_type, "
    "M.dst_address, F.name AS src_device, F.absolute_index AS src_agent_abs_index, F.logical_index AS src_agent_log_index, "
    f"F.type_index AS src_agent_type_index, F.type AS src_agent_type, M.src_address, {_EVENT} FROM rocpd_memory_copy M "
    "JOIN rocpd_string S ON S.id = M.name_id AND S.guid = M.guid LEFT JOIN rocpd_string G ON G.id = M.region_name_id AND G.guid = M.guid "
    "JOIN rocpd_info_agent D ON D.id = M.dst_agent_id AND D.guid = M.guid JOIN rocpd_info_agent F "
    "ON F.id = M.src_agent_id AND F.guid = M.guid "
    "LEFT JOIN rocpd_info_queue Q ON Q.id = M.queue_id AND Q.guid = M.guid LEFT JOIN rocpd_info_stream ST ON ST.id = M.stream_id "
    f"AND ST.guid = M.guid JOIN rocpd_event E ON E.id = M.event_id AND E.guid = M.guid {_who('M')}",
    "top_kernels": 'SELECT S.display_name AS name, count(*) AS total_calls, sum(K."end" - K.start) / 1000.0 AS total_duration, '
    'sum(K."end" - K.start) / count(*) / 1000.0 AS average, sum(K."end" - K.start) * 100.0 / (SELECT sum("end" - start) FROM '
    "rocpd_kernel_dispatch) AS percentage FROM rocpd_kernel_dispatch K JOIN rocpd_info_kernel_symbol S ON S.id = K.kernel_id "
    "AND S.guid = K.guid GROUP BY S.display_name ORDER BY total_duration DESC",
    "busy": "SELECT U.agent_id, A.type, U.GpuTime, W.WallTime, U.GpuTime * 1.0 / W.WallTime AS Busy FROM (SELECT agent_id, guid, "
    'sum("end" - start) AS GpuTime FROM (SELECT agent_id, guid, start, "end" FROM '
    'rocpd_kernel_dispatch UNION ALL SELECT dst_agent_id, guid, '
    'start, "end" FROM rocpd_memory_copy) GROUP BY agent_id, guid) U JOIN (SELECT max("end") - '
    f'min(start) AS WallTime FROM ({_ALL_TIMES})) W '
    "JOIN rocpd_info_agent A ON A.id = U.agent_id AND A.guid = U.guid",
    "top": 'SELECT name, count(*) AS total_calls, sum(duration) / 1000.0 AS total_duration, sum(duration) '
    '/ count(*) / 1000.0 AS average, '
    'sum(duration) * 100.0 / (SELECT sum("end" - start) FROM (' + _ALL_TIMES +
    ' UNION ALL SELECT start, "end" FROM rocpd_region)) AS percentage '
    'FROM (SELECT S.display_name AS name, K."end" - K.start AS duration FROM rocpd_kernel_dispatch K JOIN rocpd_info_kernel_symbol S '
    'ON S.id = K.kernel_id UNION ALL SELECT S.string, M."end" - M.start FROM rocpd_memory_copy M JOIN rocpd_string S ON S.id = M.name_id '
    'UNION ALL SELECT S.string, R."end" - R.start FROM rocpd_region R JOIN rocpd_string S ON S.id = R.name_id) GROUP BY name '
    "ORDER BY total_duration DESC",
}  # fmt: skip


def statements(guid: str) -> list[str]:
    """All CREATE statements of a database with this UUID."""
    suffix = "_" + guid.replace("-", "_")
    found = []
    for table, spec in _TABLES.items():
        columns = ['"id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT']
        for column in spec.split(", "):
            name, _, kind = column.partition(" ")
            default = (
                f" DEFAULT '{guid}' NOT NULL" if name == "guid" else " DEFAULT '{}' NOT NULL" if kind == "JSONB" else ""
            )
            columns.append(f'"{name.rstrip("!")}" {kind or "INTEGER"}{" NOT NULL" if name.endswith("!") else default}')
        found.append(f'CREATE TABLE "rocpd_{table}{suffix}" ({", ".join(columns)})')
        found.append(f'CREATE VIEW "rocpd_{table}" AS SELECT * FROM "rocpd_{table}{suffix}"')
    return found + [f'CREATE VIEW "{view}" AS {query}' for view, query in _VIEWS.items()]
