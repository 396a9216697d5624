package keystore

// MaxWorkFactor is the cost of new encrypted keys and the most that is accepted.
const MaxWorkFactor = maxWorkFactor

// WorkFactor returns the cost of new encrypted keys.
func (s *Store) WorkFactor() int { return s.workFactor }

// SetWorkFactor makes encrypting cheap.
func (s *Store) SetWorkFactor(n int) { s.workFactor = n }

// RewriteFile reads a key file and returns what is written for it.
func RewriteFile(content []byte) ([]byte, error) {
	file, err := decodeKeyFile(content)
	if err != nil {
		return nil, err
	}
	return file.encode(), nil
}
