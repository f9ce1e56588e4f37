package parallel

import "sync"

// Once holds the values of keys, each made once. The zero value is empty.
type Once[Key comparable, Value any] struct {
	mu     sync.Mutex
	values map[Key]func() Value
}

// Of returns the value of a key. The first caller makes it, and others wait for it.
func (o *Once[Key, Value]) Of(key Key, create func() Value) Value {
	o.mu.Lock()
	value, known := o.values[key]
	if !known {
		if o.values == nil {
			o.values = map[Key]func() Value{}
		}
		value = sync.OnceValue(create)
		o.values[key] = value
	}
	o.mu.Unlock()
	return value()
}
