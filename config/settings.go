package config

import (
	"reflect"
	"strings"
)

// setting is one field of Config, as the structs' tags describe it.
type setting struct {
	part     string // struct of Config it belongs to: Process, Topicd, Gateway
	name     string // of the flag, without dashes
	path     string // in YAML, dots between levels; "" when it cannot stand there
	fileOnly bool   // can stand in YAML alone
	help     string
	fallback string // default; "" when it is empty or depends on others
	enum     string
	value    reflect.Value
}

// envName is the variable that sets a flag.
func envName(flag string) string {
	return "SQSGATE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// settings lists all fields in the order of the structs.
func (c *Config) settings() []setting {
	var all []setting
	root := reflect.ValueOf(c).Elem()
	for i := range root.NumField() {
		part := root.Type().Field(i)
		all = appendSettings(all, part.Name, "", "", root.Field(i))
	}
	return all
}

func appendSettings(all []setting, part, flagPrefix, pathPrefix string, group reflect.Value) []setting {
	for i := range group.NumField() {
		tag := group.Type().Field(i).Tag
		if prefix, ok := tag.Lookup("prefix"); ok {
			all = appendSettings(all, part, flagPrefix+prefix, pathPrefix+tag.Get("yaml")+".", group.Field(i))
			continue
		}
		s := setting{
			part:     part,
			name:     flagPrefix + tag.Get("name"),
			path:     pathPrefix + strings.ReplaceAll(tag.Get("name"), "-", "_"),
			fallback: tag.Get("default"),
			enum:     tag.Get("enum"),
			fileOnly: tag.Get("yaml") == "only",
			value:    group.Field(i),
		}
		s.help = strings.ReplaceAll(tag.Get("help"), "${enum}", strings.ReplaceAll(s.enum, ",", ", "))
		if tag.Get("yaml") == "-" {
			s.path = ""
		}
		all = append(all, s)
	}
	return all
}
