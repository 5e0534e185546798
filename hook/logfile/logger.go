package logfile

import (
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/gpu-hook/gpu-hook/hook/config"
)

// New returns a logger for the configured file, level and format. It opens
// nothing yet. Without a file it is a logger that drops everything.
func New(c config.Log) *logrus.Logger {
	l := &logrus.Logger{
		Out:       io.Discard,
		Hooks:     make(logrus.LevelHooks),
		Formatter: formatter(c.Format),
		Level:     level(c.Level),
		ExitFunc:  func(int) {}, // a log line ends no process
	}
	if c.File != "" {
		l.Out = &lazyFile{path: c.File}
	}
	return l
}

// formatter puts every line on one line: both quote what is not printable.
func formatter(f config.LogFormat) logrus.Formatter {
	if f == config.FormatJSON {
		return &logrus.JSONFormatter{TimestampFormat: time.RFC3339Nano}
	}
	return &logrus.TextFormatter{DisableColors: true, FullTimestamp: true, TimestampFormat: time.RFC3339}
}

func level(l config.LogLevel) logrus.Level {
	switch l {
	case config.LevelDebug:
		return logrus.DebugLevel
	case config.LevelWarn:
		return logrus.WarnLevel
	case config.LevelError:
		return logrus.ErrorLevel
	default:
		return logrus.InfoLevel
	}
}
