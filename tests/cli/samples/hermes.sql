CREATE TABLE sessions (
    id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, model_config TEXT, system_prompt TEXT,
    parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0,
    cwd TEXT, title TEXT, handoff_state TEXT, handoff_platform TEXT, handoff_error TEXT
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
    content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER,
    finish_reason TEXT, reasoning TEXT, active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0
);
INSERT INTO sessions (id, source, model, started_at, end_reason, cwd, title) VALUES
    ('root', 'cli', 'some-model', 100, 'compression', '/srv/parcel-tracker', 'Flaky upload'),
    ('leaf', 'cli', 'some-model', 200, NULL, '/srv/parcel-tracker', 'Flaky upload #2'),
    ('helper', 'cli', 'some-model', 300, NULL, '/srv/parcel-tracker', NULL),
    ('chat', 'telegram', 'some-model', 400, NULL, NULL, 'In a chat'),
    ('elsewhere', 'cli', 'some-model', 500, NULL, '/srv/other', 'Elsewhere');
UPDATE sessions SET parent_session_id = 'root' WHERE id = 'leaf';
UPDATE sessions SET parent_session_id = 'leaf' WHERE id = 'helper';
INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp, active) VALUES
    ('root', 'user', 'old words', NULL, NULL, NULL, 101, 1),
    ('leaf', 'user', 'Why is the upload test flaky?', NULL, NULL, NULL, 201, 1),
    ('leaf', 'assistant', '', NULL, '[{"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": "{}"}}]', NULL, 202, 1),
    ('leaf', 'tool', '1 failed', 'c1', NULL, 'terminal', 203, 1),
    ('leaf', 'user', 'a question that was taken back', NULL, NULL, NULL, 204, 0),
    ('leaf', 'session_meta', '{}', NULL, NULL, NULL, 205, 1),
    ('leaf', 'user', char(0) || 'json:[{"type": "text", "text": "and this?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]', NULL, NULL, NULL, 206, 1),
    ('leaf', 'assistant', 'A chunk is sent twice.', NULL, NULL, NULL, 207, 1),
    ('helper', 'user', 'do a part of it', NULL, NULL, NULL, 301, 1),
    ('chat', 'user', 'hi', NULL, NULL, NULL, 401, 1),
    ('elsewhere', 'user', 'other work', NULL, NULL, NULL, 501, 1);
